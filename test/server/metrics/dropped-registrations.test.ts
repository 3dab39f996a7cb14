import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { createDroppedRegistrations, createMetrics } from '../../../src/server/metrics/metrics.ts'

test("logs ten of a phone's thousand dropped registrations, and counts all of them", async () => {
  vi.useFakeTimers()
  const log = pino({ level: 'silent' })
  const warn = vi.spyOn(log, 'warn').mockReturnValue(undefined)
  const metrics = createMetrics()
  const drops = createDroppedRegistrations({ log, metrics })
  const dropped = (workspaceId: string, n: number) => ({
    workspaceId,
    passId: 'p',
    deviceId: `${n}`,
    pushToken: `t${n}`,
  })
  const results = [{ pushToken: 't0', reason: 'Unregistered' }]
  for (let n = 0; n < 10; n += 1) {
    const some = Array.from({ length: 100 }, () => dropped('hostile', 0))
    drops.note(some, results)
  }
  expect(warn).toHaveBeenCalledTimes(10)
  drops.note([dropped('another', 0)], results)
  const facts = { workspaceId: 'another', passId: 'p', reason: 'Unregistered' }
  expect(warn).toHaveBeenLastCalledWith(facts, 'a device registration was dropped')
  vi.advanceTimersByTime(60_000)
  expect(warn).toHaveBeenLastCalledWith({ leftOut: 990, workspaces: 2 }, '990 more device registrations were dropped')
  expect((await metrics.droppedRegistrations.get()).values).toEqual([{ value: 1_001, labels: {} }])
  vi.useRealTimers()
})
