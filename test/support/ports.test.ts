import { expect, test, vi } from 'vitest'
import { freePort } from './ports.ts'

test('gives two runs different ports, even if their processes have the same number', async () => {
  const ports = [await freePort(), await freePort()]
  vi.resetModules()
  const { freePort: freePortOfOther } = (await import('./ports.ts')) as { freePort: typeof freePort }
  ports.push(await freePortOfOther(), await freePortOfOther())
  expect(new Set(ports).size).toBe(4)
})
