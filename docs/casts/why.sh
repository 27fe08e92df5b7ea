# Recorded while `cargo demo --keep` is up, with the KUBECONFIG that it prints. One claim is being served, the other names a template that
# nobody offers.
run() {
  echo "$ $*"
  "$@"
  echo
}

sed 's/name: demo$/name: nightly/; s/demo-kubeconfig/nightly-kubeconfig/' examples/minimal/claim.yaml |
  kubectl -n team-a apply -f - >/dev/null
kubectl -n team-a apply -f - >/dev/null <<EOF
apiVersion: ci.openshift.org/v1alpha1
kind: TestPlatformCluster
metadata: { name: release }
spec: { template: hosted-kubevrit, writeConnectionSecretToRef: { name: release-kubeconfig } }
EOF
sleep 3
run kubectl -n team-a get testplatformclusters nightly release
run kubectl testplatform why nightly -n team-a
run kubectl testplatform why release -n team-a
