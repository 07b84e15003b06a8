// version.hpp: the one place where muster's version is written; the build and the packages read it
// here.
//
// Semantic versioning: a patch mends, a minor release adds, a major release may break source code.
// Before 1.0 a minor release may break source code too, and CHANGELOG says where.
#pragma once

#define MUSTER_VERSION_MAJOR 0
#define MUSTER_VERSION_MINOR 1
#define MUSTER_VERSION_PATCH 0
#define MUSTER_VERSION "0.1.0"
