import { createServer } from 'node:net'

/**
 * Runs an endpoint that accepts every request in a separate process. Prints its port, and ends with its parent. It
 * reads only the ends of requests, because a real endpoint would not use the CPU of the server's machine.
 */
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
const HEAD_END = '\r\n\r\n'

const server = createServer((socket) => {
  let rest = ''
  socket.setNoDelay().setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.on('data', (text) => {
    rest += text
    for (;;) {
      const headEnd = rest.indexOf(HEAD_END)
      if (headEnd === -1) return
      const length = Number(/content-length: *(\d+)/i.exec(rest.slice(0, headEnd))?.[1] ?? 0)
      const end = headEnd + HEAD_END.length + length
      if (rest.length < end) return
      rest = rest.slice(end)
      socket.write(ANSWER)
    }
  })
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('disconnect', () => process.exit())
