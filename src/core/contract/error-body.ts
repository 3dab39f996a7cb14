import { z } from 'zod'
import { errorTable, type ErrorCode as KnownErrorCode } from '../errors.ts'

export const ErrorCode = z.enum(Object.keys(errorTable) as [KnownErrorCode, ...KnownErrorCode[]])
export type ErrorCode = z.output<typeof ErrorCode>

/** The body of every error answer (spec 7). */
export const ErrorBody = z.strictObject({
  errorCode: ErrorCode,
  message: z.string(),
  correlationId: z.string(),
  details: z.record(z.string(), z.unknown()),
})
export type ErrorBody = z.output<typeof ErrorBody>

/** The same of the endpoint that records scans (spec 7). */
export const ErrorBodyWithoutCode = ErrorBody.omit({ errorCode: true })
export type ErrorBodyWithoutCode = z.output<typeof ErrorBodyWithoutCode>
