import { idArg, namedArg } from '../arguments/id-argument.ts'

export const projectArg = { project: namedArg('project') }
export const broadcastArgs = {
  ...projectArg,
  broadcast: idArg('broadcast'),
}
