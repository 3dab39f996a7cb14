import { createConnection } from 'node:net'

/**
 * Sends requests from a separate process, so that the CPU use of a client does not slow down the server. It uses the
 * given number of persistent connections, each with one request in flight. It reads only the status and the end of a
 * response, and whether the response contains an expected text. The parent process can send `{ port, token, path,
 * bodies, inFlight, expected }` repeatedly, and receives `{ seconds, times }`, in milliseconds for each body, or `{
 * error }`. Ends with its parent.
 */
const HEAD_END = '\r\n\r\n'

process.on('message', async (order) => {
  try {
    process.send(await run(order))
  } catch (error) {
    process.send({ error: error.message })
  }
})
process.on('disconnect', () => process.exit())

async function run({ port, token, path, bodies, inFlight, expected }) {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`
  const waiting = bodies.values()
  const times = []
  const connections = await Promise.all(Array.from({ length: inFlight }, () => connect(port)))
  const startedAt = performance.now()
  await Promise.all(
    connections.map(async (connection) => {
      for (const body of waiting) {
        const sentAt = performance.now()
        const answer = await connection.ask(`${head}content-length: ${Buffer.byteLength(body)}${HEAD_END}${body}`)
        times.push(performance.now() - sentAt)
        if (!answer.includes(expected)) throw new Error(`${body.slice(0, 200)} got ${answer}`)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of connections) connection.end()
  return { seconds, times }
}

function connect(port) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    let text = ''
    let answered
    socket.setNoDelay().setEncoding('utf8')
    socket.on('error', reject)
    socket.on('close', () => answered?.(`no complete response: the connection ended after ${text}`))
    socket.on('data', (chunk) => {
      text += chunk
      const headEnd = text.indexOf(HEAD_END)
      if (headEnd === -1) return
      const body = text.slice(headEnd + HEAD_END.length)
      const length = Number(/content-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1])
      const isWhole = Number.isNaN(length) ? text.endsWith('0\r\n\r\n') : Buffer.byteLength(body) >= length
      if (!isWhole) return
      const answer = text
      text = ''
      answered(answer)
    })
    const ask = (request) =>
      new Promise((resolveAnswer) => {
        answered = resolveAnswer
        socket.write(request)
      })
    socket.on('connect', () => resolve({ ask, end: () => socket.end() }))
  })
}
