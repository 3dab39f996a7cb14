import { expect } from 'vitest'
import { type Client, paginate } from '../../../src/client/client.ts'
import type { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { eventually } from '../../support/eventually.ts'

/** Issues passes whose barcodes contain the values of their variable `code`. */
export async function issueWithCodes(client: Client, codes: readonly string[], projectId?: string): Promise<void> {
  const body = { name: 'Day ticket', passType: 'eventTicket', ...(projectId && { projectId }) } as const
  const { id } = await client.templates.create({ body })
  const definition = {
    variables: [{ name: 'code', label: 'Code', required: true }],
    design: {
      organizationName: 'Fair',
      description: 'Ticket',
      barcode: { format: 'qr' as const, message: '{{code}}' },
    },
  }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  const passes = codes.map((code) => ({
    externalPassId: code,
    label: `Guest ${code}`,
    templateId: id,
    variables: { code },
  }))
  for (let start = 0; start < passes.length; start += 100) {
    await client.passes.createBatch({ body: { passes: passes.slice(start, start + 100) } })
  }
  const query = { status: ['ISSUED' as const], templateId: [id], limit: 1 }
  await eventually(async () => expect((await client.passes.list({ query })).total).toBe(codes.length), {
    interval: 100,
  })
}

/** Returns all scans, oldest first. */
export async function ledger(client: Client, query: { scanContextKey?: string[] } = {}): Promise<ScanItem[]> {
  const items: ScanItem[] = []
  for await (const item of paginate((call) => client.scans.list(call), query)) items.push(item)
  return items.reverse()
}

/** Returns the number of times that each value occurs. */
export function tallyOf(values: readonly (string | null)[]): Record<string, number> {
  const counters: Record<string, number> = {}
  for (const value of values) counters[String(value)] = (counters[String(value)] ?? 0) + 1
  return counters
}
