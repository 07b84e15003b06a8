"""clock.py: outside the library the rule holds too. want(folders)"""
