"""Reports: tables and pictures of a finished run. They read results and never replay."""
