import type { Change } from '../template/compare.ts'

/** What a plan says of one thing. */
export type Action = 'create' | 'change' | 'unchanged' | 'delete' | 'notInFiles' | 'operator'

/** What became of it. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted' | 'notInFiles' | 'operator'

/** One project, template or webhook, or the limits: how the files and the server stand to each other, and what is to be done. */
export interface Step {
  kind: 'project' | 'template' | 'webhook' | 'limits'
  /** What files call it. */
  name: string
  /** Null for what no file is about. */
  file: string | null
  action: Action
  /** What differs; empty for what is made or deleted. */
  changes: Change[]
  /** What to say beside it. */
  note?: string
  /** Brings the server to what the file says, from whatever state it is found in; absent where nothing is to be done. */
  carryOut?: () => Promise<Outcome>
}

/** Whether it keeps files and server from being the same. What no file is about does not: nobody asked for its end. */
export function isDifference({ action }: Pick<Step, 'action'>): boolean {
  return action !== 'unchanged' && action !== 'notInFiles'
}
