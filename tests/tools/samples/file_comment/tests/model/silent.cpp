// silent.cpp says nothing; want(file-comment)
