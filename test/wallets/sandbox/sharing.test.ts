import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serveLocally } from '../../../src/wallets/sandbox/local-server.ts'
import { createClaims, type SharedEmulator, shareEmulator } from '../../../src/wallets/sandbox/sharing.ts'
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
      const shared = await shareEmulator({ folder, name: 'apple', start: mayPlay ? start : undefined, onError: fail })
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

test('takes over a claim whose process has ended', async () => {
  const { folder, join } = group()
  writeFileSync(claimFile(folder, 7), JSON.stringify({ id: 'dead', pid: process.pid, url: 'http://127.0.0.1:9' }))
  expect((await join(1)).find()).toEqual({ player: 1 })
  expect(readdirSync(folder)).toEqual(['apple-owner-8.json'])
})

test('takes over a claim whose port another program uses', async () => {
  const { folder, join } = group()
  const stranger = await serveLocally(() => ({ status: 200, json: { id: 'stranger', addresses: { player: 9 } } }))
  onTestFinished(() => stranger.close())
  writeFileSync(claimFile(folder, 1), JSON.stringify({ id: 'dead', pid: process.pid, url: stranger.url }))
  expect((await join(1)).find()).toEqual({ player: 1 })
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
  await expect(shareEmulator({ folder, name: 'apple', start, onError: fail })).rejects.toThrow('no port left')
  expect((await join(1)).find()).toEqual({ player: 1 })
})

test('one of several concurrent claims gets the lease, and an outdated claim never does', async () => {
  const folder = temporaryFolder()
  const claims = createClaims(folder, 'apple')
  const made = (n: number) => ({ id: `claim-${n}`, pid: process.pid, url: 'http://127.0.0.1:9' })
  expect(await claims.find()).toBeUndefined()
  const race = await Promise.all(Array.from({ length: 20 }, (_, n) => claims.claim(undefined, made(n))))
  const won = race.filter((claim) => claim !== undefined)
  expect(won).toHaveLength(1)
  expect(await claims.find()).toEqual(won[0])

  const second = await claims.claim(won[0], made(30))
  const third = await claims.claim(second, made(31))
  expect(third?.number).toBe(3)
  // This claim was made while the first one was held. The first one's file is gone now, and its number is free.
  expect(await claims.claim(won[0], made(40))).toBeUndefined()
  expect(await claims.find()).toEqual(third)
})

function claimFile(folder: string, number: number): string {
  return join(folder, `apple-owner-${number}.json`)
}
