"""HTTP and sockets: servers with limits, the threads that requests run in, who is calling."""
