# Keeps the cluster alive until a Secret named $signal appears in this namespace. When this ends, the cluster is destroyed.
set +e

# It may point to the cluster under test. The signal is on the build cluster, whose API this pod reaches by itself.
unset KUBECONFIG

oc=$(command -v oc || command -v kubectl)
if [[ -z $oc ]]; then
    echo "FAILURE: there is neither oc nor kubectl in this image"
    exit 127
fi
where=()
if [[ -n ${NAMESPACE:-} ]]; then
    where=(--namespace "$NAMESPACE")
fi

# The pause runs in the background, because bash answers a signal only between commands; and without this output, because
# whoever reads it would wait for the pause to end.
sleeper=
trap 'echo "ended from outside before the signal came"; kill $sleeper 2> /dev/null; exit 143' TERM INT
pause() {
    sleep "$(($1 / 1000)).$(printf '%03d' "$(($1 % 1000))")" > /dev/null 2>&1 &
    sleeper=$!
    wait "$sleeper"
}

echo "waiting for Secret $signal"
failing_since=
pause_ms=$poll_ms
while true; do
    # Nothing and success: it is not there. All else that is not success is an error that may pass.
    if answer=$("$oc" get secret "$signal" ${where[@]+"${where[@]}"} \
        --ignore-not-found --output=name --request-timeout=30s 2>&1); then
        if [[ $answer == *"secret/$signal"* ]]; then
            echo "the signal is there"
            exit 0
        fi
        if [[ -n $failing_since ]]; then
            echo "the API answers again after $((SECONDS - failing_since)) s"
        fi
        failing_since=
        pause_ms=$poll_ms
    else
        failing_since=${failing_since:-$SECONDS}
        echo "the API has not answered for $((SECONDS - failing_since)) s: $answer"
        if ((SECONDS - failing_since >= tolerance_s)); then
            echo "FAILURE: giving up after $tolerance_s s without an answer; the cluster ends although nobody asked for it"
            exit 1
        fi
        pause_ms=$((pause_ms * 2 > longest_pause_ms ? longest_pause_ms : pause_ms * 2))
    fi
    pause "$pause_ms"
done
