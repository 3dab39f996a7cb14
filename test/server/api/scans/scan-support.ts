import type { ScanCreate } from '../../../../src/core/contract/scans/scans.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import type { TestWorkspace } from '../../../support/api.ts'
import { definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'

/** A definition whose barcode holds the variable `code`, with the given policy. */
export function scannable(redemption?: RedemptionPolicy, parts: Partial<DefinitionInput> = {}): DefinitionInput {
  const base = definition()
  return {
    ...base,
    variables: [...base.variables!, { name: 'code', label: 'Code' }, { name: 'until', label: 'Until' }],
    design: { ...base.design, barcode: { message: '{{code}}' } },
    expiresAt: '{{until}}',
    ...(redemption && { redemption: redemption as NonNullable<DefinitionInput['redemption']> }),
    ...parts,
  }
}

let codes = 0

export interface ScannableOptions {
  redemption?: RedemptionPolicy
  projectId?: string
  code?: string
  /** The expiry of the pass. */
  until?: string
  label?: string
  parts?: Partial<DefinitionInput>
}

/** Creates an issued pass. Returns it with its barcode message. */
export async function scannablePass(workspace: TestWorkspace, options: ScannableOptions = {}) {
  codes += 1
  const { redemption, parts, code = `code-${codes}`, until, ...rest } = options
  const variables = { code, ...(until && { until }) }
  const pass = await issuedPass(workspace, { ...rest, variables, definition: scannable(redemption, parts) })
  return { ...pass, code }
}

/** Creates a pass that no worker has claimed: it is QUEUED. */
export async function queuedPass(workspace: TestWorkspace) {
  codes += 1
  const template = await publishedTemplate(workspace, { definition: scannable() })
  const pass = await makePass(workspace, template.id, { variables: { code: `code-${codes}` } })
  return { ...pass, code: `code-${codes}` }
}

export function scan(workspace: TestWorkspace, body: Partial<ScanCreate>) {
  return workspace.ok(scans.create, { body })
}
