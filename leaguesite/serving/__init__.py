"""HTTP and sockets: the server and its limits, the threads that requests run in, who is calling."""
