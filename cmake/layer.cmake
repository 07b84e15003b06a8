# layer.cmake: how a layer, a component and a test become CMake targets.

# Warnings and sanitizers that all of our own code is built with; never exported to users.
add_library(muster_build_flags INTERFACE)
target_compile_options(muster_build_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  $<$<BOOL:${MUSTER_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(MUSTER_SANITIZE)
  target_compile_options(muster_build_flags INTERFACE
    -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(muster_build_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()

# muster_compile_together(target a.cpp b.cpp)
# Several of these files at a time are one for the compiler, which takes a third of the time. For
# builds in which they need not show that each stands by itself.
function(muster_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARGN})
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# muster_layer(sync SOURCES a.cpp DEPENDS base)
# One target per layer; DEPENDS is both its link list and the list of layers it may include.
# A layer without SOURCES is made of headers only.
function(muster_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target muster_${name})
  if(arg_SOURCES)
    add_library(${target} ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:muster_build_flags>)
    # Nobody replaces our functions at run time, so GCC may inline those that are exported, too.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
      POSITION_INDEPENDENT_CODE ON
      INSTALL_RPATH "$ORIGIN"  # shared layers find each other wherever they are installed
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(MUSTER_SANITIZE)
      muster_compile_together(${target} ${arg_SOURCES})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(muster::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(layer IN LISTS arg_DEPENDS)
    target_link_libraries(${target} ${scope} muster_${layer})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY MUSTER_LAYERS ${name})
endfunction()

# muster_compile_as_one(processes a.cpp b.cpp)
# In optimised builds these files of a layer are one for the compiler, which then sees all that
# happens to a task on its way. Elsewhere each has to stand by itself.
function(muster_compile_as_one name)
  if(NOT CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$" OR CMAKE_CXX_CLANG_TIDY
     OR MUSTER_SANITIZE)
    return()
  endif()
  set_target_properties(muster_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP one)
endfunction()

# muster_component(threads LAYERS queues)
# What users ask for with find_package(muster COMPONENTS threads) and link as muster::threads.
function(muster_component name)
  cmake_parse_arguments(arg "" "" "LAYERS" ${ARGN})
  if(NOT TARGET muster_${name})
    add_library(muster_${name} INTERFACE)
    add_library(muster::${name} ALIAS muster_${name})
    set_target_properties(muster_${name} PROPERTIES EXPORT_NAME ${name})
    foreach(layer IN LISTS arg_LAYERS)
      target_link_libraries(muster_${name} INTERFACE muster_${layer})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY MUSTER_LAYERS ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY MUSTER_COMPONENTS ${name})
endfunction()
