import type { Client } from '../../client/client.ts'
import type { Pass, PassCreate, PassUpdate } from '../../core/contract/passes.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { FAILED, type Outcome, type RowResult } from '../bulk/row-action.ts'
import { CliError } from '../command/cli-error.ts'
import type { IssueColumns } from './rows.ts'

/** The outcomes of a row. `valid` occurs only if the token cannot read passes. */
export type IssueOutcome = 'created' | 'updated' | 'valid' | 'failed' | Standing

/** The action for an existing pass with other values: keep it or update it. If not set, the row fails. */
export type Existing = 'keep' | 'update'

const otherTemplateOutcome = { name: 'otherTemplate', title: '  Of another template', within: 'failed' } as const

/**
 * The outcomes of a run and of its plan. The outcomes from the first to `failed` add up to the number of rows. A
 * created pass counts as present in later runs.
 */
export const issueOutcomes: readonly Outcome<IssueOutcome>[] = [
  { name: 'created', title: 'Created', again: 'present' },
  { name: 'present', title: 'Present' },
  { name: 'updated', title: 'Updated', again: 'present' },
  { name: 'differs', title: 'Differs' },
  { name: 'void', title: 'Void' },
  FAILED,
  otherTemplateOutcome,
]

export const checkedOutcomes: readonly Outcome<IssueOutcome>[] = [{ name: 'valid', title: 'Valid' }, FAILED]

export function toRequestedPass(item: PassCreate, { variables }: IssueColumns): WantedPass {
  return { ...item, names: variables.map(({ name }) => name) }
}

/**
 * Returns the result of a row whose pass already exists. Adds link cells only if the pass matches the row, because the
 * links of another pass could belong to another holder.
 */
export function resultOfExisting(
  pass: Pass,
  wanted: WantedPass,
  { existing, labelColumn }: { existing: Existing | undefined; labelColumn: string },
): RowResult<IssueOutcome> {
  const outcome = standingOf(pass, wanted)
  if (outcome === 'present') return { outcome, cells: cellsOf(pass) }
  if (outcome === 'otherTemplate') return { outcome, error: otherTemplate(pass.id) }
  if (existing === 'keep') return { outcome }
  if (outcome === 'void') return { outcome, error: voidPass(pass.id) }
  return { outcome, error: `DIFFERS: In pass ${pass.id}, ${describeDifferences(pass, wanted, labelColumn)}` }
}

export function cellsOf({ id, hostedLinks }: Pass): (string | null)[] {
  return [id, ...platforms.map((platform) => hostedLinks[platform]), hostedLinks.smart, hostedLinks.group]
}

export function otherTemplate(passId: unknown): string {
  return `DUPLICATE_PASS: Pass ${passId} of another template has this external ID`
}

export function voidPass(passId: string): string {
  return `VOID: Pass ${passId} with this external ID is permanently void: give the row another external ID`
}

export interface WantedPass extends Pick<PassCreate, 'templateId' | 'label' | 'variables' | 'groupKey'> {
  /** The names of the variables to compare. Variables without a column in the file stay unchanged. */
  names: readonly string[]
}

type Standing = 'present' | 'differs' | 'void' | 'otherTemplate'

function standingOf(pass: Pass, wanted: WantedPass): Standing {
  if (pass.templateId !== wanted.templateId) return 'otherTemplate'
  if (pass.status === 'VOID') return 'void'
  return Object.keys(changeTo(pass, wanted)).length > 0 ? 'differs' : 'present'
}

/** Describes differences with the values of the pass: `label is "Ada"; seat is not set`. */
function describeDifferences(pass: Pass, wanted: WantedPass, labelColumn: string): string {
  const { label, groupKey, variables = {} } = changeTo(pass, wanted)
  const differing = new Map<string, unknown>()
  if (label !== undefined) differing.set(labelColumn, pass.label)
  if (groupKey !== undefined) differing.set('its group', pass.groupKey)
  for (const name of Object.keys(variables)) differing.set(name, own(pass.variables, name))
  return [...differing].map(([name, there]) => `${name} is ${there == null ? 'not set' : quote(there)}`).join('; ')
}

/**
 * Returns the update that makes the pass match the request. Compared variables without a requested value are removed.
 */
export function changeTo(pass: Pass, { label, groupKey = pass.groupKey, variables, names }: WantedPass): PassUpdate {
  const changed = names.filter((name) => own(pass.variables, name) !== own(variables, name))
  return {
    ...(label !== pass.label && { label }),
    ...(groupKey !== pass.groupKey && { groupKey }),
    ...(changed.length > 0 && {
      variables: Object.fromEntries(changed.map((name) => [name, own(variables, name) ?? null])),
    }),
  }
}

function own(variables: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(variables, name) ? variables[name] : undefined
}

const SHOWN_CHARACTERS = 60

function quote(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}

export interface CreatedPass {
  outcome: 'created' | 'updated' | Exclude<Standing, 'otherTemplate'>
  pass: Pass
}

/**
 * Creates a pass, or finds the existing pass with the external id. Returns the pass and its outcome.
 * @throws ApiError; CliError if the existing pass differs and `existing` does not allow the difference
 */
export async function createOne(
  client: Client,
  body: PassCreate,
  existing: Existing | undefined,
): Promise<CreatedPass> {
  let status = 0
  const onResponse = (answer: { status: number }) => {
    status = answer.status
  }
  const pass = await client.passes.create({ body }, { onResponse })
  if (status === 201) return { outcome: 'created', pass }
  const wanted = { ...body, names: Object.keys(body.variables) }
  const outcome = standingOf(pass, wanted) as CreatedPass['outcome']
  if (outcome === 'present' || existing === 'keep') return { outcome, pass }
  if (outcome === 'void') {
    throw new CliError(`${body.externalPassId} already has a pass, which is permanently void`, {
      code: 'VOID',
      details: { passId: pass.id },
      hint: 'give the new pass another --external-id; --existing keep accepts the void one.',
    })
  }
  if (existing === 'update') {
    const updated = await client.passes.update({ params: { id: pass.id }, body: changeTo(pass, wanted) })
    return { outcome: 'updated', pass: updated }
  }
  const differences = describeDifferences(pass, wanted, 'label')
  throw new CliError(`${body.externalPassId} already has a pass, which differs: ${differences}`, {
    code: 'DIFFERS',
    details: { passId: pass.id, differences },
    hint: '--existing update changes it, --existing keep accepts it; another --external-id creates another pass.',
  })
}
