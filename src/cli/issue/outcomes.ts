import type { Pass, PassCreate } from '../../core/contract/passes.ts'
import { FAILED, type Outcome, type RowResult } from '../bulk/row-action.ts'
import type { IssueColumns } from './columns.ts'
import { describeDifferences, type Standing, standingOf, type WantedPass } from './compare.ts'

/** What may become of a row; `valid` only where the token may not look at passes. */
export type IssueOutcome = 'created' | 'updated' | 'valid' | 'failed' | Standing

/** What to do with a pass that is there and differs: nothing, and be content; or change it. Without, the row fails. */
export type Existing = 'keep' | 'update'

const otherTemplateOutcome = { name: 'otherTemplate', title: '  Of another template', within: 'failed' } as const

/** Of a run and of its plan; down to failed they add up to the rows. A pass once made is present from then on. */
export const issueOutcomes: readonly Outcome<IssueOutcome>[] = [
  { name: 'created', title: 'Created', again: 'present' },
  { name: 'present', title: 'Present' },
  { name: 'updated', title: 'Updated', again: 'present' },
  { name: 'differs', title: 'Differs' },
  { name: 'void', title: 'Void' },
  FAILED,
  otherTemplateOutcome,
]

/** Of a plan that may not look at passes. */
export const checkedOutcomes: readonly Outcome<IssueOutcome>[] = [{ name: 'valid', title: 'Valid' }, FAILED]

/** What a row asks for, of a file with these columns. */
export function wantedBy(item: PassCreate, { variables }: IssueColumns): WantedPass {
  return { ...item, names: variables.map(({ name }) => name) }
}

/**
 * What a row comes to where its pass was there before, and differs where it does. Only a pass that is what the row says
 * has cells: whoever else the links belong to, it is not who stands in the row.
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
  return { outcome, error: `DIFFERS: Of pass ${pass.id}, ${describeDifferences(pass, wanted, labelColumn)}` }
}

/** The links of a pass for the row that it belongs to. */
export function cellsOf({ id, hostedLinks: { apple, google, smart } }: Pass): (string | null)[] {
  return [id, apple, google, smart]
}

export function otherTemplate(passId: unknown): string {
  return `DUPLICATE_PASS: Pass ${passId} of another template has this external id`
}

export function voidPass(passId: string): string {
  return `VOID: Pass ${passId} with this external id is void, and stays so: give the row another external id`
}
