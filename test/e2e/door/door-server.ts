import { once } from 'node:events'
import { createServer } from 'node:http'
import { answerFile } from '../../../src/server/pages/assets.ts'
import { bundleFromSource, doorFiles } from '../../../src/server/pages/door/door-page.ts'
import type { CleanUp } from '../../support/databases.ts'

/**
 * Serves the page of the door over the engine of fake-door.ts, with the headers that the server sends.
 * @returns the address of the page
 */
export async function serveFakeDoor(cleanUp: CleanUp): Promise<string> {
  const files = await doorFiles(await bundleFromSource(new URL('./fake-door.ts', import.meta.url).pathname))
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://127.0.0.1')
    const file = files.get(pathname)
    if (!file) {
      response.writeHead(204).end()
      return
    }
    const answer = answerFile(file, new Headers(request.headers as Record<string, string>))
    response.writeHead(answer.status ?? 200, Object.fromEntries(answer.headers))
    response.end((answer.body as Uint8Array | null) ?? undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/door`
}
