/* good.pml: a model may open with a block. */
