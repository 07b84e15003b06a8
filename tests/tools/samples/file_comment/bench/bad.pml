/* a model of something; want(file-comment) */
