import { expect, test } from 'vitest'
import { freePort } from './ports.ts'

test('gives two runs different ports, even if their processes have the same number', async () => {
  const ports = [await freePort(), await freePort()]
  // A second instance of the module, like the one of another run.
  const module = './ports.ts?second'
  const other = (await import(module)) as { freePort: typeof freePort }
  expect(other.freePort).not.toBe(freePort)
  ports.push(await other.freePort(), await other.freePort())
  expect(new Set(ports).size).toBe(4)
})
