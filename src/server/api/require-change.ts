import { ApiError } from '../../core/errors.ts'

/** @throws ApiError MISSING_REQUIRED_FIELD if the body of a PATCH has no field */
export function requireChange(body: object, message: string): void {
  if (Object.keys(body).length === 0) throw new ApiError('MISSING_REQUIRED_FIELD', { message })
}
