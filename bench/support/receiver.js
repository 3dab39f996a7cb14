import { createServer } from 'node:http'

/** An endpoint in a process of its own that takes whatever comes: prints its port, ends with its parent. */
const server = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(204).end())
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('disconnect', () => process.exit())
