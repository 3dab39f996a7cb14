import { z } from 'zod'
import { passStatuses } from '../rules/pass/pass-status.ts'

export const PassStatus = z.enum(passStatuses)
export type PassStatus = z.output<typeof PassStatus>
