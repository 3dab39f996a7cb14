import { Args } from '@oclif/core'

export const projectArg = { project: Args.string({ description: 'Id of the project.', required: true }) }
export const broadcastArgs = {
  ...projectArg,
  broadcast: Args.string({ description: 'Id of the broadcast.', required: true }),
}
