import { execa } from 'execa'
import { expect, test } from 'vitest'
import { png } from '../../server/api/templates/pictures.ts'
import { eventually } from '../../support/eventually.ts'
import { hostServer, startServer, type TestServer } from '../support/server.ts'

test('the image process starts with the first image and ends when the server stops', async () => {
  const server = await hostServer()
  await endsDecoder(server, process.pid, () => server.stop())
})

test('the image process starts with the first image and ends when the server is killed', async () => {
  const server = await startServer()
  expect(await childrenOf(server.pid)).toEqual([])
  await endsDecoder(server, server.pid, () => server.kill())
})

/** @param pid the process of the server */
async function endsDecoder(server: TestServer, pid: number, end: () => Promise<unknown>): Promise<void> {
  const before = await childrenOf(pid)
  const decoders = async () => (await childrenOf(pid)).filter((child) => !before.includes(child))
  const upload = async (color?: string) =>
    server.client.images.create({ body: await png(color ? { color } : {}), contentType: 'image/png' })
  await upload()
  await upload('#00ff00')
  const [decoder, ...others] = await decoders()
  expect(others).toEqual([])
  // Systemd and terminals send these signals to the decoder too. It still finishes its work.
  process.kill(decoder!, 'SIGTERM')
  process.kill(decoder!, 'SIGINT')
  await upload('#0000ff')
  expect(await decoders()).toEqual([decoder])
  await end()
  await eventually(() => expect(() => process.kill(decoder!, 0)).toThrow('ESRCH'))
}

/** Returns the child processes, without the `ps` that lists them. */
async function childrenOf(pid: number): Promise<number[]> {
  const listing = execa('ps', ['-o', 'pid=', '--ppid', String(pid)], { reject: false })
  const { stdout } = await listing
  return stdout
    .split('\n')
    .filter(Boolean)
    .map(Number)
    .filter((child) => child !== listing.pid)
}
