import { execa } from 'execa'
import { expect, test } from 'vitest'
import { png } from '../../server/api/templates/pictures.ts'
import { eventually } from '../../support/eventually.ts'
import { type ServerProcess, startServer } from '../support/server.ts'

const endings: [string, (server: ServerProcess) => Promise<unknown>][] = [
  ['is told to stop', (server) => server.stop()],
  ['is killed', (server) => server.kill()],
]
test.each(endings)('the image process starts with the first image and ends when the server %s', async (_, end) => {
  const server = await startServer()
  expect(await childrenOf(server.pid)).toEqual([])
  await server.client.images.create({ body: await png(), contentType: 'image/png' })
  await server.client.images.create({ body: await png({ color: '#00ff00' }), contentType: 'image/png' })
  const [decoder, ...others] = await childrenOf(server.pid)
  expect(others).toEqual([])
  // Systemd and terminals send these signals to the decoder too. It still finishes its work.
  process.kill(decoder!, 'SIGTERM')
  process.kill(decoder!, 'SIGINT')
  await server.client.images.create({ body: await png({ color: '#0000ff' }), contentType: 'image/png' })
  expect(await childrenOf(server.pid)).toEqual([decoder])
  await end(server)
  await eventually(() => expect(() => process.kill(decoder!, 0)).toThrow('ESRCH'))
})

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await execa('ps', ['-o', 'pid=', '--ppid', String(pid)], { reject: false })
  return stdout.split('\n').filter(Boolean).map(Number)
}
