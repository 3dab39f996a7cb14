import { type BucketUnit, MAX_BUCKETS } from '../../core/contract/schemas/common.ts'
import { validationError } from '../../core/errors.ts'
import { bucketStarts, isFarTooLong } from '../../core/rules/lists/buckets.ts'

/** Returns the start of each bucket. @throws ApiError VALIDATION_ERROR if the range is empty or has too many buckets */
export function requireBuckets(range: { from: Date; to: Date }, by: BucketUnit, zone: string): number[] {
  if (range.from >= range.to) {
    throw validationError([{ path: ['from'], message: 'Must be before "to" (default: now)' }])
  }
  const starts = isFarTooLong(range, by) ? undefined : bucketStarts(range, by, zone)
  if (starts && starts.length <= MAX_BUCKETS) return starts
  const message = `Is more than ${MAX_BUCKETS} ${by}s before the end: choose a shorter time range, or longer periods`
  throw validationError([{ path: ['from'], message }])
}
