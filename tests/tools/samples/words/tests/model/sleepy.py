import time
time.sleep(1)  # want(words)
asleep(1)
