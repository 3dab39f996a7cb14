/** What acts on a pass, as it is typed: the page itself changes nothing. */
export function passCommands({ id, status }: { id: string; status: string }): string[] {
  const isVoid = status === 'VOID'
  return [
    `passes pass get ${id}`,
    `passes pass explain ${id}`,
    `passes pass wallets ${id}`,
    ...(isVoid
      ? []
      : [
          `passes notify ${id} --message "…"`,
          `passes pass rotate-code ${id}`,
          `passes pass revoke-links ${id}`,
          `passes pass void ${id} --reason "…"`,
        ]),
  ]
}

/** Takes an accepted scan back. */
export function reverseCommand(scanId: string): string {
  return `passes scans reverse ${scanId} --reason "…"`
}

/** Cancels a notification that is still scheduled. */
export function cancelCommand(passId: string, notificationId: string): string {
  return `passes notification cancel ${passId} ${notificationId}`
}

/** Sends a delivery once more. */
export function redeliverCommand(deliveryId: string): string {
  return `passes webhook redeliver ${deliveryId}`
}
