# A name that people expect.
