// unguarded.hpp: has no guard; #pragma once in a comment is none. want(file-comment)
#pragma GCC diagnostic push
