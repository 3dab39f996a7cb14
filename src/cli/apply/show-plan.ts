import { printable } from '../command/output.ts'
import { showChanges } from '../template/compare.ts'
import type { Action, Step } from './plan.ts'

const signs: Record<Action, string> = {
  create: '+ create',
  change: '~ change',
  unchanged: '  unchanged',
  delete: '- delete',
  notInFiles: '? not in files:',
  operator: '! for an operator:',
}

const counted: readonly [action: Action, words: string][] = [
  ['create', 'to create'],
  ['change', 'to change'],
  ['delete', 'to delete'],
  ['unchanged', 'unchanged'],
  ['notInFiles', 'not in files'],
  ['operator', 'for an operator'],
]

/** What is to be done, with what differs beneath each; what is as it should be is only counted. */
export function showPlan(steps: readonly Step[]): string {
  const lines = steps
    .filter(({ action }) => action !== 'unchanged')
    .flatMap((step) => [
      `${signs[step.action]} ${describeStep(step)}${step.file ? ` (${printable(step.file)})` : ''}`,
      ...indent(showChanges(step.changes)),
      ...indent(step.note ?? ''),
    ])
  return [...lines, `${countSteps(steps)}.`].join('\n')
}

/** The kind and the name, as people call it. */
export function describeStep({ kind, name }: Pick<Step, 'kind' | 'name'>): string {
  return kind === 'limits' ? `limits of the workspace ${printable(name)}` : `${kind} ${printable(name)}`
}

function countSteps(steps: readonly Step[]): string {
  const counts = counted.map(
    ([action, words]) => [steps.filter((step) => step.action === action).length, words] as const,
  )
  return counts
    .filter(([count]) => count > 0)
    .map(([count, words]) => `${count} ${words}`)
    .join(', ')
}

function indent(text: string): string[] {
  return text === '' ? [] : text.split('\n').map((line) => `    ${line}`)
}
