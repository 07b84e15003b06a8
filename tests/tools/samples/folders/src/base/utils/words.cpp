// words.cpp: the folder is reported once.
