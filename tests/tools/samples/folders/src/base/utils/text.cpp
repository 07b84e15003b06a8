// text.cpp: the first file of a folder that says nothing. want(folders)
