import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { answerFile } from '../../../src/server/pages/assets.ts'
import { bundlePage, doorFiles } from '../../../src/server/pages/scripted-pages.ts'
import type { CleanUp } from '../../support/databases.ts'

/**
 * Serves a page of the door that is built from `entry`, a file of this folder, with the headers that the server sends.
 * @param answerOthers answers what is no file of the page
 * @returns the address of the page
 */
export async function serveDoor(entry: string, answerOthers: RequestListener, cleanUp: CleanUp): Promise<string> {
  const files = await doorFiles(await bundlePage('door', new URL(entry, import.meta.url).pathname))
  const server = createServer((request, response) => {
    const file = files.get(new URL(request.url!, 'http://127.0.0.1').pathname)
    if (!file) return answerOthers(request, response)
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

/** Serves the page with the engine of fake-door.ts, which calls no server. */
export function serveFakeDoor(cleanUp: CleanUp): Promise<string> {
  return serveDoor('./fake-door.ts', (_, response) => void response.writeHead(204).end(), cleanUp)
}
