import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Google } from '../../wallets/sandbox/google-support.ts'

/** Starts a server with a hosted link and the directory of its emulator. */
export async function startLinks(google: Google | null, jwt: string) {
  const server = createServer((request, response) => {
    if (request.url === '/sandbox') {
      response.end(JSON.stringify({ apple: null, google: google && { url: google.url } }))
    } else if (request.url === '/l/smart') {
      const isPhone = request.headers['sec-ch-ua-platform'] === '"Android"'
      response.writeHead(isPhone ? 302 : 200, isPhone ? { location: '/l/google' } : {}).end()
    } else {
      response.writeHead(302, { location: `https://pay.google.com/gp/v/save/${jwt}` }).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/l/smart`
}
