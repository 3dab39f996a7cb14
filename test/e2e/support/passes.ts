import { expect, onTestFinished } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import type { RedemptionPolicy } from '../../../src/core/contract/schemas/redemption.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { eventually } from '../../support/eventually.ts'

/** Creates a template with one published version. Resolves to its ID. */
export async function publishTemplate(
  client: Client,
  redemption?: RedemptionPolicy,
  projectId?: string,
): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket', projectId } })
  // Changes of hidden values are not sent to Google, so show the value.
  const holder = { key: 'holder', label: 'Holder', value: '{{pass.label}}' }
  const design = { organizationName: 'Acme', description: 'Ticket', fields: { secondary: [holder] } }
  const definition = { design, ...(redemption && { redemption: redemption as object }) }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}

let issued = 0

/** Creates an issued pass with a barcode. */
export async function issuedPass(client: Client, redemption?: RedemptionPolicy): Promise<Pass> {
  const templateId = await publishTemplate(client, redemption)
  issued += 1
  const { id } = await client.passes.create({ body: { externalPassId: `issued-${issued}`, label: 'Ada', templateId } })
  return eventually(async () => {
    const pass = await client.passes.get({ params: { id } })
    expect(pass.status).toBe('ISSUED')
    return pass
  })
}

/** Returns the passes of a batch, with the external IDs `prefix-0`, `prefix-1`, … */
export function batchOf(templateId: string, prefix: string, count: number) {
  return Array.from({ length: count }, (_, n) => ({
    externalPassId: `${prefix}-${n}`,
    label: `Guest ${n}`,
    templateId,
  }))
}

export interface StoredPass {
  id: string
  externalPassId: string
  status: string
  /** The number of pass.issued events of the pass. */
  issuedEvents: number
}

/**
 * Reads and changes the database of a server directly. If several tests share it, `workspaceId` limits the rows to one
 * workspace.
 */
export function inspect(url: string, workspaceId?: string) {
  const database = openDatabase(url)
  onTestFinished(() => database.close())
  const { reader, writer } = database
  const own = workspaceId === undefined ? {} : { workspace_id: workspaceId }
  return {
    rows: (table: string): Promise<Record<string, unknown>[]> => reader(table).where(own),
    update: (table: string, columns: Record<string, unknown>): Promise<number> => writer(table).update(columns),
    async passes(): Promise<StoredPass[]> {
      const passes = await reader('passes').where(own).select('id', 'external_pass_id', 'status')
      const subjects: string[] = await reader('events').where({ type: 'pass.issued' }).pluck('subject')
      const counts = new Map<string, number>()
      for (const subject of subjects) counts.set(subject, (counts.get(subject) ?? 0) + 1)
      return passes.map((pass) => ({
        id: pass.id,
        externalPassId: pass.external_pass_id,
        status: pass.status,
        issuedEvents: counts.get(pass.id) ?? 0,
      }))
    },
  }
}
