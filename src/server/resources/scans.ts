import type { scans as contract } from '../../core/contract/scans.ts'
import { Problem } from '../../core/errors.ts'
import type { Handlers } from '../mount.ts'

export const scans: Handlers<typeof contract> = {
  create: async () => missing(),
  list: async () => missing(),
  stats: async () => missing(),
  get: async () => missing(),
  reverse: async () => missing(),
  explain: async () => missing(),
}

function missing(): never {
  throw new Problem('NOT_FOUND', { message: 'There is no such scan.' })
}
