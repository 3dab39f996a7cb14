import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDecoder } from '../../../src/server/images/images.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { png } from '../api/templates/pictures.ts'

const log = pino({ level: 'silent' })
const sizes = [{ width: 10, height: 10, scale: 1 as const }]
/** This is much longer than a response takes, even on a busy machine. */
const killAfterSeconds = 60

/** Returns a decoder whose program misbehaves in a way that the first byte of the image selects. */
function misbehaving() {
  const program = join(temporaryFolder(), 'child.mjs')
  writeFileSync(
    program,
    `process.on('disconnect', () => process.exit())
    process.on('SIGTERM', () => undefined)
    process.on('message', ({ bytes: [kind] }) => {
      if (kind === 0) for (;;);
      if (kind === 1) process.kill(process.pid, 'SIGSEGV')
      process.send({ made: { width: process.pid, height: Object.keys(process.env).length, files: [] } })
    })
    process.send({ ready: true })`,
  )
  const decoder = createDecoder({ log, killAfterSeconds, program })
  onTestFinished(decoder.close)
  return (kind: number) => decoder.decode({ bytes: Uint8Array.of(kind), sizes })
}

const [STUCK, CRASHING, FINE] = [0, 1, 2]

test('a stuck decoder is killed, and the next image after a kill or crash gets a new one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const decode = misbehaving()
  const { width: first } = await decode(FINE)
  expect((await decode(FINE)).width).toBe(first)
  const stuck = expect(decode(STUCK)).rejects.toMatchObject({ name: 'ImageFault' })
  await vi.advanceTimersByTimeAsync(killAfterSeconds * 1000)
  await stuck
  expect(isAlive(first)).toBe(false)
  const { width: second } = await decode(FINE)
  expect(second).not.toBe(first)
  await expect(decode(CRASHING)).rejects.toMatchObject({ name: 'ImageFault' })
  expect((await decode(FINE)).width).not.toBe(second)
})

test('an idle decoder that dies is replaced, and the next image does not fail', async () => {
  const decode = misbehaving()
  const { width: pid } = await decode(FINE)
  process.kill(pid, 'SIGKILL')
  await eventually(() => expect(isAlive(pid)).toBe(false))
  expect((await decode(FINE)).width).not.toBe(pid)
})

test('the process gets no settings of the server', async () => {
  vi.stubEnv('PASSES_SERVER_KEY', 'secret')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  // VIPS_WARNING, MALLOC_ARENA_MAX and the two that Node itself adds.
  expect((await misbehaving()(FINE)).height).toBeLessThanOrEqual(4)
})

test('a decoder that cannot start is a server error, not an image error', async () => {
  const program = join(temporaryFolder(), 'child.mjs')
  writeFileSync(program, 'process.exit(3)')
  const decoder = createDecoder({ log, program })
  const failure = decoder.decode({ bytes: await png(), sizes })
  await expect(failure).rejects.toThrow('does not start')
  await expect(failure).rejects.not.toMatchObject({ name: 'ImageFault' })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
