import { expect, test } from 'vitest'
import { createDefinitions } from '../../../src/server/wallet-sync/definitions.ts'
import type { Store } from '../../../src/storage/store.ts'
import { definition } from '../fixtures.ts'

test('a workspace with definitions as large as they may be keeps few of them in memory, and leaves others theirs', async () => {
  const reads: string[] = []
  const organizationName = 'x'.repeat(1024 * 1024)
  const templateVersions = {
    async listByIds(workspaceId: string, [id]: string[]) {
      reads.push(`${workspaceId} ${id}`)
      const { design, ...rest } = definition()
      const content = { ...rest, design: workspaceId === 'large' ? { ...design, organizationName } : design }
      return [{ id, version: 1, passType: 'generic', definition: content }]
    },
  }
  const definitions = createDefinitions({ templateVersions } as unknown as Store)
  const findAll = async (workspaceId: string, count: number) => {
    reads.length = 0
    for (let n = count - 1; n >= 0; n -= 1) {
      expect((await definitions.findVersion(workspaceId, `${n}`))?.id).toBe(`${n}`)
    }
    return reads.length
  }
  expect(await findAll('small', 500)).toBe(500)
  expect(await findAll('large', 20)).toBe(20)
  expect(await findAll('large', 3)).toBe(0)
  expect(await findAll('small', 500)).toBe(0)
  // What was asked for first went first.
  expect(await findAll('large', 20)).toBeGreaterThan(12)
})
