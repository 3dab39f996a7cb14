import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { takeProcessLock as takeLock } from '../../../src/storage/db/sqlite/process-lock.ts'
import { type SharedEmulator, shareEmulator } from '../../../src/wallets/sandbox/sharing.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'

/** The output of a process that emulates a platform: its role, and the number of its starts. */
interface Addresses {
  player: number
}

interface Group {
  folder: string
  /** The emulators that run now. */
  playing: Set<number>
  join(player: number, options?: { mayPlay: boolean }): Promise<SharedEmulator<Addresses>>
}

function group(): Group {
  const folder = temporaryFolder()
  const playing = new Set<number>()
  return {
    folder,
    playing,
    async join(player, { mayPlay } = { mayPlay: true }) {
      async function start() {
        playing.add(player)
        // Two that run at the same time would overwrite each other's files.
        expect(playing.size).toBe(1)
        return {
          addresses: { player },
          async close() {
            playing.delete(player)
          },
        }
      }
      const options = { folder, name: 'apple', takeLock, onError: fail }
      const shared = await shareEmulator({ ...options, start: mayPlay ? start : undefined })
      onTestFinished(() => shared.close())
      return shared
    },
  }
}

function fail(error: unknown): never {
  throw error
}

test('one of many servers that start together runs the sandbox, and all know its address', async () => {
  const { playing, join } = group()
  const all = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((player) => join(player)))
  const [player] = playing
  expect(all.map((shared) => shared.find())).toEqual(all.map(() => ({ player })))
})

test('another server takes over the sandbox when one ends, and all learn its address', async () => {
  const { playing, join } = group()
  const left = new Map<number, SharedEmulator<Addresses>>()
  for (const player of [1, 2, 3, 4]) left.set(player, await join(player))
  while (left.size > 0) {
    const [player] = playing
    expect(left.has(player!)).toBe(true)
    await eventually(() => {
      expect([...left.values()].map((shared) => shared.find())).toEqual([...left].map(() => ({ player })))
    })
    await left.get(player!)!.close()
    left.delete(player!)
    if (left.size > 0) await eventually(() => expect(playing.size).toBe(1))
  }
  expect(playing.size).toBe(0)
})

test('ignores the addresses that a killed server left', async () => {
  const { folder, join: joinGroup } = group()
  writeFileSync(join(folder, 'apple-leader.json'), JSON.stringify({ player: 9 }))
  expect((await joinGroup(1, { mayPlay: false })).find()).toBeUndefined()
  expect((await joinGroup(2)).find()).toEqual({ player: 2 })
})

test('a server that cannot run the sandbox works without it, and finds a later one', async () => {
  const { join } = group()
  const follower = await join(1, { mayPlay: false })
  expect(follower.find()).toBeUndefined()
  await join(2)
  await eventually(() => expect(follower.find()).toEqual({ player: 2 }))
})

test('a server that cannot start the sandbox fails at the start, and the next one can', async () => {
  const { folder, join } = group()
  const start = () => Promise.reject(new Error('no port left'))
  await expect(shareEmulator({ folder, name: 'apple', takeLock, start, onError: fail })).rejects.toThrow('no port left')
  expect((await join(1)).find()).toEqual({ player: 1 })
})

test('closes an emulator whose addresses cannot be written, and the next one can start', async () => {
  const { folder, join } = group()
  const closed: string[] = []
  const start = async () => ({
    // JSON has no form of a bigint.
    addresses: { player: 1n },
    close: async () => {
      closed.push('emulator')
    },
  })
  await expect(shareEmulator({ folder, name: 'apple', takeLock, start, onError: fail })).rejects.toThrow(TypeError)
  expect(closed).toEqual(['emulator'])
  expect((await join(2)).find()).toEqual({ player: 2 })
})
