# install.cmake: `cmake --install`, find_package(muster COMPONENTS ...), and a pkg-config file for
# each component.
#
# Layers and components come from the lists that layer.cmake keeps, so a new one needs no line here.
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY MUSTER_LAYERS)
get_property(components GLOBAL PROPERTY MUSTER_COMPONENTS)

# Headers of a component that is not built would only mislead.
set(absent)
foreach(component processes jobs export)
  if(NOT component IN_LIST components)
    list(APPEND absent PATTERN ${component} EXCLUDE)
  endif()
endforeach()
if(NOT processes IN_LIST components)
  foreach(header
      byte_reader byte_writer bytes codec codec_described codec_parts handler payload
      process_error process_pool process_pool_options registry task_context worker_main)
    list(APPEND absent PATTERN ${header}.hpp EXCLUDE)
  endforeach()
endif()
if(NOT jobs IN_LIST components)
  list(APPEND absent PATTERN job_pool.hpp EXCLUDE)
endif()
install(DIRECTORY include/muster DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" ${absent})
list(TRANSFORM layers PREPEND muster_ OUTPUT_VARIABLE layer_targets)
install(TARGETS ${layer_targets} EXPORT muster)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(EXPORT muster NAMESPACE muster:: FILE musterTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/musterConfig.cmake.in musterConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)

# Semantic versioning: before 1.0 a minor release may break source code, after it only a major one.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(musterConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES
          ${PROJECT_BINARY_DIR}/musterConfig.cmake
          ${PROJECT_BINARY_DIR}/musterConfigVersion.cmake
        DESTINATION ${package_dir})

# Puts all that `target` links, itself included, into the list `out`: users before what they use,
# the order in which a linker wants static libraries.
function(muster_link_order target out)
  set(order ${${out}})
  if(NOT target IN_LIST order)
    if(TARGET ${target})
      get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
      list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
      list(FILTER links EXCLUDE REGEX "BUILD_INTERFACE|NOTFOUND")
      foreach(link IN LISTS links)
        muster_link_order(${link} order)
      endforeach()
    endif()
    list(PREPEND order ${target})
  endif()
  set(${out} ${order} PARENT_SCOPE)
endfunction()

# Paths in a pkg-config file are relative to the file: the installed tree may be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_here ${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH include_from_here ${pkgconfig_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
foreach(component IN LISTS components)
  set(order "")
  muster_link_order(muster_${component} order)
  set(libs "-L\${libdir}")
  foreach(link IN LISTS order)
    if(link STREQUAL "Threads::Threads")
      string(APPEND libs " -pthread")
    elseif(link STREQUAL "prometheus-cpp::core")
      string(APPEND libs " -lprometheus-cpp-core")
    elseif(link STREQUAL "Boost::json")
      string(APPEND libs " -lboost_json")
    elseif(link STREQUAL "SQLite::SQLite3")
      string(APPEND libs " -lsqlite3")
    elseif(link STREQUAL "PostgreSQL::PostgreSQL")
      string(APPEND libs " -lpq")
    elseif(link STREQUAL "date::date-tz")
      string(APPEND libs " -ldate-tz")
    elseif(link STREQUAL "xxhash")
      string(APPEND libs " -lxxhash")
    elseif(NOT link MATCHES "^muster_")
      message(FATAL_ERROR "${link}, which muster-${component} links, has no pkg-config words here")
    else()
      get_target_property(type ${link} TYPE)
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        string(APPEND libs " -l${link}")
      endif()
    endif()
  endforeach()
  configure_file(cmake/muster.pc.in muster-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/muster-${component}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
