import { z } from 'zod'

export const PassStatus = z.enum(['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'])
export type PassStatus = z.output<typeof PassStatus>
