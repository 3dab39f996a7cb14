import { createServer } from 'node:net'

/**
 * An endpoint in a process of its own that takes whatever comes: prints its port, ends with its parent. It would run on a
 * machine of its own, so it reads no more of a request than where it ends: what it takes of this machine, others lack.
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
