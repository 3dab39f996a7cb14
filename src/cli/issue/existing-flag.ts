import { Flags } from '@oclif/core'

/** What to do where an external id has a pass already that is not what is asked for. */
export const existingFlag = Flags.option({
  summary: 'A pass that is there and differs: keep leaves it as it is, update changes it. Left out, it is an error.',
  options: ['keep', 'update'] as const,
})()
