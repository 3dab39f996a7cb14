import { beforeAll, expect, test } from 'vitest'
import type { AppleDevice } from '../../../src/cli/device/phone-store.ts'
import { deviceFor, phoneOf, type WatchEvent, watch } from '../../../src/cli/device/phones.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { createChain, serial, startService } from './service.ts'

let chain: SandboxApple
beforeAll(async () => {
  chain = await createChain()
})

/** Returns the events of the phone as they arrive. */
function follow(folder: string) {
  const phone = phoneOf(deviceFor(folder, 'apple'))
  const stop = new AbortController()
  const seen: WatchEvent[] = []
  const waiting: (() => void)[] = []
  const ended = watch(phone, {
    signal: stop.signal,
    onEvent: (event) => {
      seen.push(event)
      for (const wake of waiting.splice(0)) wake()
    },
  })
  return {
    async next(): Promise<WatchEvent> {
      while (seen.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      return seen.shift()!
    },
    async stop() {
      stop.abort()
      await ended
    },
  }
}

async function installed() {
  const service = await startService(chain)
  const folder = temporaryFolder()
  await phoneOf(deviceFor(folder, 'apple')).install(`${service.url}/l/smart`)
  return { service, folder }
}

test('a push through APNs makes the phone fetch, and show the banner', async () => {
  const { service, folder } = await installed()
  const watching = follow(folder)
  expect(await watching.next()).toEqual({ event: 'listening', source: `${service.url}/apple` })
  service.change({ seat: 'B-7' })
  await service.push()
  expect(await watching.next()).toMatchObject({ event: 'change', pass: serial, banners: ['Your seat is now B-7.'] })
  service.change({ seat: 'C-8' })
  await service.push()
  expect(await watching.next()).toMatchObject({ banners: ['Your seat is now C-8.'] })
  await watching.stop()
})

test('a phone that starts listening fetches earlier changes, even without a push', async () => {
  const { service, folder } = await installed()
  service.change({ seat: 'B-7' })
  const watching = follow(folder)
  expect(await watching.next()).toMatchObject({ event: 'listening' })
  expect(await watching.next()).toMatchObject({ event: 'change', banners: ['Your seat is now B-7.'] })
  await watching.stop()
})

test('retries a failing server until it succeeds, and loses no change', async () => {
  const { service, folder } = await installed()
  const watching = follow(folder)
  expect(await watching.next()).toMatchObject({ event: 'listening' })
  service.change({ seat: 'B-7' })
  service.state.override = () => ({ status: 503 })
  await service.push()
  expect(await watching.next()).toMatchObject({ event: 'problem', message: expect.stringContaining('503') })
  service.state.override = () => undefined
  const events = [await watching.next(), await watching.next()]
  expect(events).toMatchObject([{ event: 'listening' }, { event: 'change', banners: ['Your seat is now B-7.'] }])
  await watching.stop()
})

test('a phone that fetches during fifty updates ends on the last one and never goes back', async () => {
  const { service, folder } = await installed()
  const watching = follow(folder)
  await watching.next()
  const updates = (async () => {
    for (let n = 1; n <= 50; n++) {
      service.change({ seat: `S-${n}` })
      await service.push()
    }
  })()
  const seats: number[] = []
  while (seats.at(-1) !== 50) {
    const event = await watching.next()
    if (event.event === 'change') seats.push(Number(/S-(\d+)/.exec(event.banners[0] ?? '')?.[1]))
  }
  await updates
  expect(seats).toEqual(seats.toSorted((a, b) => a - b))
  await watching.stop()
  const device = deviceFor(folder, 'apple').read() as AppleDevice
  expect(device.passes[0]?.content.eventTicket?.secondaryFields[0]?.value).toBe('S-50')
})
