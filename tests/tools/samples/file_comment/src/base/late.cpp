#include <vector>  // want(file-comment)
// late.cpp: comes too late.
