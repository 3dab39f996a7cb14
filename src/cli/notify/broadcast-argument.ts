import { idArg } from '../arguments/id-argument.ts'

export const projectArg = { project: idArg('project') }
export const broadcastArgs = {
  ...projectArg,
  broadcast: idArg('broadcast'),
}
