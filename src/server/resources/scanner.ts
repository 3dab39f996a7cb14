import type { scanner as contract } from '../../core/contract/scanner.ts'
import { Problem } from '../../core/errors.ts'
import type { Handlers } from '../mount.ts'

export const scanner: Handlers<typeof contract> = {
  snapshot: async () => missing(),
  report: async () => missing(),
}

function missing(): never {
  throw new Problem('NOT_FOUND')
}
