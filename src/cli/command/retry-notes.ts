const NOTE_EVERY_MS = 5_000

/** Says that something is being waited for, but not once for each request in flight. */
export function retryNotes(note: (message: string) => void) {
  let notedAt = 0
  return ({ error, waitSeconds }: { error: Error; waitSeconds: number }) => {
    if (Date.now() - notedAt < NOTE_EVERY_MS) return
    notedAt = Date.now()
    note(`${error.message}; trying again in ${waitSeconds.toFixed(1)} s`)
  }
}
